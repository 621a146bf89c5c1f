"""Reports on rankers: what is spread over queries, the worst of them, and the best single feature beside the model."""
