"""The claims of the papers that genperf stands on, each as something that can fail."""
