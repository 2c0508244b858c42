"""How good the labels are: who agrees with whom, which tasks divide, which labels are probably wrong."""
