"""From signals to a route: the deployments to try, in order."""
