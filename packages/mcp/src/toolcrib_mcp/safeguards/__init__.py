"""What every call passes on its way to a server, in whichever mode: pins, policy, limits, approval, audit."""
