// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static java.util.stream.Collectors.toMap;

import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** The packages of torchfeed, and which of them each may import: a new arrow is declared here. */
final class Arrows {
  /** The packages that are no part of the API. */
  static final Set<String> HIDDEN =
      Set.of(
          "bindings",
          "data.engine",
          "data.pass",
          "data.task",
          "distributed.averaging",
          "distributed.rendezvous",
          "internal",
          "internal.gzip",
          "internal.saving",
          "internal.sums",
          "report",
          "sampler.cursor",
          "spark.checkpoint",
          "spark.executor",
          "spark.link",
          "spark.rows",
          "trace.analysis",
          "trace.ring",
          "training.steps");

  /**
   * The packages that each package may import. Two pairs import each other, a face and its hidden
   * works: {@code sampler} and {@code sampler.cursor}, {@code distributed} and {@code
   * distributed.rendezvous}.
   */
  static final Map<String, Set<String>> ALL =
      parsed(
          """
          bindings:
          internal:
          internal.gzip:
          internal.saving:
          internal.sums:
          storage: internal
          summary: internal
          sampler: internal sampler.cursor
          sampler.cursor: internal sampler
          sampler.order: internal sampler sampler.cursor
          sampler.python: internal sampler sampler.cursor
          sampler.torch: bindings internal sampler sampler.cursor
          sampler.balance: internal sampler sampler.cursor sampler.order
          sampler.split: internal sampler.order sampler.python
          memory: bindings internal
          trace: trace.ring
          trace.ring: internal
          trace.analysis: internal trace.ring
          metric: checkpoint data.loader distributed internal internal.sums sampler
          image: bindings internal memory
          text: internal internal.gzip storage
          graph: internal text
          data: bindings image internal memory sampler
          data.loader: bindings data data.engine data.pass data.task image internal memory \
            sampler sampler.order sampler.torch
          data.engine: bindings data data.task internal memory trace.ring
          data.pass: data data.engine data.task internal sampler trace.ring
          data.source: bindings data data.task graph image internal internal.gzip memory sampler \
            storage table text
          table: checkpoint data internal internal.sums memory
          data.token: data data.source internal memory storage
          data.task: bindings data image internal memory trace.ring
          checkpoint: bindings internal internal.saving memory sampler storage
          compiled: bindings internal
          distributed: bindings distributed.rendezvous internal sampler trace.ring
          distributed.rendezvous: bindings distributed internal sampler trace.ring
          distributed.averaging: bindings distributed distributed.rendezvous
          distributed.training: amp bindings checkpoint distributed distributed.averaging \
            distributed.rendezvous internal sampler trace.ring
          distributed.launch: distributed.membership internal
          distributed.membership: internal
          training: bindings checkpoint data data.loader distributed distributed.training internal \
            sampler summary trace trace.ring training.steps
          training.steps: data data.loader distributed distributed.training sampler
          elastic: checkpoint data data.loader distributed distributed.membership \
            distributed.training internal sampler training training.steps
          report: distributed.membership elastic internal trace.analysis
          amp: bindings checkpoint internal memory
          spark: checkpoint compiled data data.loader distributed distributed.training image \
            internal memory sampler storage table trace training
          spark.checkpoint: checkpoint distributed internal spark
          spark.executor: io.torchfeed checkpoint distributed internal memory sampler spark \
            spark.checkpoint spark.link spark.rows training
          spark.job: distributed internal spark spark.checkpoint spark.executor spark.link \
            spark.rows table
          spark.link: internal spark
          spark.pipeline: data data.loader distributed distributed.training internal memory \
            sampler.order spark spark.job spark.link spark.rows training
          spark.rows: data data.source image internal memory spark table
          parquet: data data.source image memory sampler sampler.order storage table
          io.torchfeed: bindings data data.loader data.source distributed.launch \
            distributed.membership elastic internal report sampler sampler.torch trace.analysis
          """);

  private Arrows() {}

  private static Map<String, Set<String>> parsed(String lines) {
    return lines
        .lines()
        .map(line -> line.split(":\\s*", -1))
        .collect(toMap(line -> name(line[0]), line -> names(line[1])));
  }

  private static Set<String> names(String list) {
    Set<String> names = new TreeSet<>();
    Arrays.stream(list.split("\\s+"))
        .filter(each -> !each.isEmpty())
        .forEach(each -> names.add(name(each)));
    return names;
  }

  private static String name(String shown) {
    return shown.equals("io.torchfeed") ? "" : shown;
  }
}
