"""From what a trigger test saw to what it says: capacity, amplification, verdict, advice, pages."""
