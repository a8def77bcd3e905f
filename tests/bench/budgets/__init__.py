"""What retry budgets and breakers cost the generator, each beside a client that has none."""
