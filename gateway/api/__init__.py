"""HTTP: the endpoints, their authentication and their errors."""
