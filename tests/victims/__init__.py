"""Services that nobody here wrote, and what stands before them, started on loopback for tests."""
