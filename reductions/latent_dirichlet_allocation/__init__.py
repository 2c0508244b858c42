"""Topics of documents, learned online: latent Dirichlet allocation by variational Bayes."""
