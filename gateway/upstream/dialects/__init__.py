"""What deployments want to be asked like, and what their answers mean in the words of OpenAI's chat completions."""
