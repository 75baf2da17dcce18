// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.spark;

import java.io.Serializable;

/**
 * The sizes of a factorization.
 *
 * @param users users have the numbers from 0 to users - 1
 * @param movies movies have the numbers from 0 to movies - 1
 * @param factors the factors of each
 * @param mean the mean rating
 */
record RatingsShape(long users, long movies, int factors, double mean) implements Serializable {}
