"""The transform engine: SQL files and their YAML → tables and views of the warehouse, tested and versioned."""
