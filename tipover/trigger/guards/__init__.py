"""What keeps a destructive tool on a leash: who may be loaded, what ends the load, what is written down."""
