package layer
