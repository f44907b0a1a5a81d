"""A judge method, a provider and an importer."""
