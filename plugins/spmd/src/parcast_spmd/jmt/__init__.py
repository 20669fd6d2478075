"""The files of JMT (Java Modelling Tools), which LINE writes as well: .jmva and .jsimg."""
