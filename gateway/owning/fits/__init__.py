"""Whether given machines hold a model: the catalogs, the machine at hand and the engines' recipes put together."""
