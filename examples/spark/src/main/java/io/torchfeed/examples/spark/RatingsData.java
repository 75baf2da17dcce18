// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;

/** Ratings: columns {@code user}, {@code movie} and {@code rating}. */
final class RatingsData {
  private static final double MEAN = 3.5;
  private static final double BIAS = 0.3;
  private static final double FACTOR = 0.5;
  private static final double NOISE = 0.3;
  private static final int FACTORS = 8;
  private static final long SEED = 7;

  private RatingsData() {}

  /** A rating, as a bean of Spark's. */
  public static final class Rating implements Serializable {
    private static final long serialVersionUID = 1L;

    private long user;
    private long movie;
    private float rating;

    /** Creates a rating of 0. */
    public Rating() {}

    Rating(long user, long movie, float rating) {
      this.user = user;
      this.movie = movie;
      this.rating = rating;
    }

    public long getUser() {
      return user;
    }

    public void setUser(long user) {
      this.user = user;
    }

    public long getMovie() {
      return movie;
    }

    public void setMovie(long movie) {
      this.movie = movie;
    }

    public float getRating() {
      return rating;
    }

    public void setRating(float rating) {
      this.rating = rating;
    }
  }

  /**
   * Returns ratings that are products of 8 factors, with biases and noise of a standard deviation
   * of 0.3: no model can have a smaller error than that on ratings that it has not seen.
   *
   * @param share of the pairs of a user and a movie that have a rating
   */
  static Dataset<Row> generated(SparkSession spark, int users, int movies, double share) {
    double[][] ofMovies = vectors(new Random(SEED), movies);
    List<Integer> numbers = IntStream.range(0, users).boxed().toList();
    FlatMapFunction<Integer, Rating> rate =
        user -> {
          Random random = new Random(SEED + 1 + user);
          double[] ofUser = vectors(random, 1)[0];
          List<Rating> ratings = new ArrayList<>();
          for (int movie = 0; movie < movies; movie++) {
            if (random.nextDouble() < share) {
              double rating = rating(ofUser, ofMovies[movie]) + NOISE * random.nextGaussian();
              ratings.add(new Rating(user, movie, (float) rating));
            }
          }
          return ratings.iterator();
        };
    return spark
        .createDataset(numbers, Encoders.INT())
        .flatMap(rate, Encoders.bean(Rating.class))
        .select("user", "movie", "rating");
  }

  /** Returns factors, and a bias as the last element. */
  private static double[][] vectors(Random random, int count) {
    double[][] vectors = new double[count][FACTORS + 1];
    for (double[] vector : vectors) {
      for (int i = 0; i < FACTORS; i++) {
        vector[i] = FACTOR * random.nextGaussian();
      }
      vector[FACTORS] = BIAS * random.nextGaussian();
    }
    return vectors;
  }

  private static double rating(double[] user, double[] movie) {
    double rating = MEAN + user[FACTORS] + movie[FACTORS];
    for (int i = 0; i < FACTORS; i++) {
      rating += user[i] * movie[i];
    }
    return rating;
  }

  /**
   * Reads a file of MovieLens: {@code ratings.csv} with a header, or {@code u.data} without one.
   */
  static Dataset<Row> movieLens(SparkSession spark, String file) {
    boolean isCsv = file.endsWith(".csv");
    return spark
        .read()
        .option("header", isCsv)
        .option("sep", isCsv ? "," : "\t")
        .csv(file)
        .toDF("user", "movie", "rating", "time")
        .select(
            functions.col("user").cast("long"),
            functions.col("movie").cast("long"),
            functions.col("rating").cast("float"));
  }

  /** Returns the sizes of a factorization of these ratings. */
  static RatingsShape shape(Dataset<Row> ratings, int factors) {
    Row row =
        ratings
            .agg(
                functions.max("user").plus(1),
                functions.max("movie").plus(1),
                functions.avg("rating"))
            .first();
    return new RatingsShape(row.getLong(0), row.getLong(1), factors, row.getDouble(2));
  }
}
