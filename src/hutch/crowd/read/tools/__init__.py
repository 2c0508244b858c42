"""Labels as the tools of labelling and of evaluation export them, one file per tool."""
