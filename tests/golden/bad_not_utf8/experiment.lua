-- A café in Latin-1.
return experiment {}
