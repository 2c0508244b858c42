"""Quality of labels: agreement of workers, divided tasks, probable errors."""
