// Empty: a target needs a source to make a precompiled header for others.
