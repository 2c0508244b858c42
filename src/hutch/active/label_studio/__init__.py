"""Label Studio as the page: a machine-learning backend; requests and answers moved between a store and a project."""
