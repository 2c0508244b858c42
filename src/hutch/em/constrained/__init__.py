"""M-steps that are held near an anchor, and the boundaries at which anchors are set."""
