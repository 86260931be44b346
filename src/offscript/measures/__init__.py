"""What is measured: definitions over next-token distributions. No network, file format or page may enter here."""
