"""What goes over the wire: raw spans, server-sent events, usage."""
