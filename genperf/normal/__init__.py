"""What is normal: where an efficiency lies among published series, and the least time that an exchange needs."""
