"""Rules together: families of instances, how good the clusterings are and what they cost."""
