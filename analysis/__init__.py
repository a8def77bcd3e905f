"""Laws, fluid model, estimators, verdicts, plots and reports; reads only the run directory."""
