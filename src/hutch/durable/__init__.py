"""All that must survive a crash, in one SQLite file: requests and answers, decisions and rewards, learn requests."""
