// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.spark;

import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Ratings as the product of a user's and a movie's factors, plus a bias of each and the mean
 * rating: the first element of an embedding is the bias.
 */
final class FactorNet extends Module {
  private static final double FIRST_SCALE = 0.1;

  private final EmbeddingImpl users;
  private final EmbeddingImpl movies;
  private final Tensor mean;

  FactorNet(RatingsShape shape) {
    users = register_module("users", new EmbeddingImpl(shape.users(), 1L + shape.factors()));
    movies = register_module("movies", new EmbeddingImpl(shape.movies(), 1L + shape.factors()));
    mean = register_parameter("mean", torch.full(new long[] {1}, new Scalar(shape.mean())));
    try (NoGradGuard guard = new NoGradGuard()) {
      users.weight().mul_(new Scalar(FIRST_SCALE));
      movies.weight().mul_(new Scalar(FIRST_SCALE));
    }
  }

  /** Returns the ratings {@code [B]} of users {@code [B]} and movies {@code [B]}. */
  Tensor forward(Tensor user, Tensor movie) {
    return rating(users.forward(user), movies.forward(movie));
  }

  private Tensor rating(Tensor user, Tensor movie) {
    Tensor bias = user.select(1, 0).add(movie.select(1, 0)).add(mean);
    return factors(user).mul(factors(movie)).sum(1).add(bias);
  }

  private static Tensor factors(Tensor embeddings) {
    return embeddings.slice(1, new LongOptional(1), new LongOptional(), 1);
  }

  /**
   * Returns the mean squared error, plus the squares of the embeddings in the batch times a factor:
   * so users with many ratings count more, as in the ALS of Spark.
   */
  Tensor loss(Tensor user, Tensor movie, Tensor rating, double regularization) {
    Tensor u = users.forward(user);
    Tensor m = movies.forward(movie);
    Tensor squares = u.square().sum(1).add(m.square().sum(1)).mean();
    return torch.mse_loss(rating(u, m), rating).add(squares.mul(new Scalar(regularization)));
  }
}
