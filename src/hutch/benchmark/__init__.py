"""A new model's score on a benchmark from a few judged questions, with earlier models' answers."""
