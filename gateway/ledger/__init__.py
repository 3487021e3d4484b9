"""Money: a durable hold before every attempt, one settlement after it, exact to the nano-dollar."""
