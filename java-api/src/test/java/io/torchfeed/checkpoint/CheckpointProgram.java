// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import java.nio.file.Path;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** A program that saves checkpoints, for {@link CheckpointProcessTest}. */
final class CheckpointProgram {
  private static final int ELEMENTS = 300_000;
  private static final int SMALL = 100;

  /** More bytes than are written before the first flush. */
  private static final int LARGE = 12 << 20;

  private final Module module = new Module();
  private final Tensor weight;

  CheckpointProgram(int elements) {
    weight = torch.zeros(elements);
    module.register_buffer("weight", weight);
  }

  TrainingState state() {
    return TrainingState.builder().module("model", module).build();
  }

  void set(long step) {
    weight.fill_(new Scalar((double) step));
  }

  /** Returns the number that all elements have. */
  long value() {
    double first = weight.get(0).item_double();
    if (!weight.eq(new Scalar(first)).all().item_bool()) {
      throw new AssertionError("elements of several steps");
    }
    return (long) first;
  }

  public static void main(String[] arguments) {
    Path folder = Path.of(arguments[0]);
    switch (arguments[1]) {
      case "exit" -> exit(folder);
      case "loop" -> loop(folder);
      case "background" -> background(folder);
      case "fill-large" -> fillInBackground(folder);
      default -> fill(folder);
    }
  }

  private static void exit(Path folder) {
    CheckpointProgram program = new CheckpointProgram(ELEMENTS);
    program.set(5);
    Checkpoints.open(folder).saveInBackground(5, program.state());
    System.exit(3);
  }

  private static void loop(Path folder) {
    CheckpointProgram program = new CheckpointProgram(ELEMENTS);
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      long step = checkpoints.load(program.state()).map(Checkpoint::step).orElse(0L);
      while (true) {
        step++;
        program.set(step);
        checkpoints.save(step, program.state());
        System.out.println("saved " + step);
      }
    }
  }

  /** Saves a large state while the next one is made. */
  private static void background(Path folder) {
    CheckpointProgram program = new CheckpointProgram(LARGE);
    CheckpointOptions options = CheckpointOptions.defaults().withCopyInBackground(true);
    try (Checkpoints checkpoints = Checkpoints.open(folder, options)) {
      long step = checkpoints.load(program.state()).map(Checkpoint::step).orElse(0L);
      while (true) {
        step++;
        program.set(step);
        checkpoints.saveInBackground(step, program.state()); // waits for the one before
        System.out.println("saved " + (step - 1));
        checkpoints.awaitCopied();
      }
    }
  }

  private static void fillInBackground(Path folder) {
    CheckpointProgram large = new CheckpointProgram(LARGE);
    CheckpointProgram small = new CheckpointProgram(SMALL);
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      small.set(1);
      checkpoints.saveInBackground(1, small.state());
      checkpoints.saveInBackground(2, large.state());
      try {
        checkpoints.saveInBackground(3, small.state());
      } catch (CheckpointException e) {
        System.out.println(e.problem() + " " + e.getMessage());
      }
      small.set(3);
      checkpoints.saveInBackground(3, small.state());
    }
  }

  /** Saves a small state, and then one that is larger than the limit of the process's files. */
  private static void fill(Path folder) {
    CheckpointProgram small = new CheckpointProgram(SMALL);
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      small.set(1);
      checkpoints.save(1, small.state());
      try {
        checkpoints.save(2, new CheckpointProgram(ELEMENTS).state());
      } catch (CheckpointException e) {
        System.out.println(e.problem() + " " + e.getMessage());
      }
      small.set(3);
      checkpoints.save(3, small.state());
    }
  }

  static CheckpointProgram large() {
    return new CheckpointProgram(LARGE);
  }

  static CheckpointProgram ofSize(boolean isLarge) {
    return new CheckpointProgram(isLarge ? ELEMENTS : SMALL);
  }
}
