"""The way out: dispatch over a route, the clients, and the guard that all of them leave through."""
