"""Which training settings suit this workspace: trials, each trained from the base and measured against it."""
