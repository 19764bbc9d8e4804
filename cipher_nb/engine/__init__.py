"""llama.cpp's own HTTP server: the model it loads, the process it lives in, its client, and the proven swap."""
