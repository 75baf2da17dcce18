// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import java.nio.file.Path;
import java.util.List;

/**
 * The command line of a rank.
 *
 * @param name of the process
 * @param port of the coordinator
 * @param checkpoints the folder of checkpoints
 * @param training the same for all ranks
 */
record RankArguments(String name, int port, Path checkpoints, Training training) {
  /**
   * All that a training depends on, except for the ranks.
   *
   * @param data has MNIST's files
   * @param plan of the batches
   * @param learningRate of SGD
   * @param epochs of the training
   * @param everySteps the steps from one checkpoint to the next
   */
  record Training(
      Path data, ElasticModel.Plan plan, double learningRate, long epochs, long everySteps) {
    /** Returns the number of steps if no epoch is divided unevenly. */
    long steps() {
      return epochs * ((plan.samples() + plan.globalBatch() - 1) / plan.globalBatch());
    }
  }

  static RankArguments parse(String[] words) {
    return new RankArguments(
        words[0],
        Integer.parseInt(words[1]),
        Path.of(words[2]),
        new Training(
            Path.of(words[3]),
            new ElasticModel.Plan(
                Integer.parseInt(words[4]), Integer.parseInt(words[5]), Long.parseLong(words[6])),
            Double.parseDouble(words[7]),
            Long.parseLong(words[8]),
            Long.parseLong(words[9])));
  }

  List<String> toWords() {
    return List.of(
        name,
        String.valueOf(port),
        checkpoints.toAbsolutePath().toString(),
        training.data.toAbsolutePath().toString(),
        String.valueOf(training.plan.samples()),
        String.valueOf(training.plan.globalBatch()),
        String.valueOf(training.plan.seed()),
        String.valueOf(training.learningRate),
        String.valueOf(training.epochs),
        String.valueOf(training.everySteps));
  }
}
