// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import java.util.function.Consumer;

/** Does faults to jobs, one after the other, and checks each job at its end. */
final class Campaign {
  /** A fault, and the time that the other ranks needed to continue. */
  record Done(Fault fault, double millis, double reformingMillis) {}

  /** The sums over all jobs. */
  static final class Totals {
    final List<Done> faults = new ArrayList<>();
    final List<String> broken = new ArrayList<>();
    final List<Double> accuracies = new ArrayList<>();
    int missed;
    int jobs;
    long epochs;
    long samples;
    long padding;
    long undone;
    long generations;
    long steps;
    long compared;
    long replayed;
    int processes;
    OptionalDouble undisturbed = OptionalDouble.empty();

    /** Compares the accuracies with the same training's without faults. */
    void compare(double withoutFaults) {
      undisturbed = OptionalDouble.of(withoutFaults);
      for (double each : accuracies) {
        if (!(each >= withoutFaults - Undisturbed.TOLERANCE)) {
          broken.add(
              String.format(
                  Locale.ROOT, "the accuracy is %.4f, without faults %.4f", each, withoutFaults));
        }
      }
    }
  }

  /** The folder of the first job, whose checkpoints another campaign must not continue from. */
  static final String FIRST_JOB = "job-1";

  /** A kind is given up when it has missed its moment this often, one time after the other. */
  private static final int TRIES = 20;

  private final Path out;
  private final RankArguments.Training training;
  private final List<String> jvm;
  private final double bar;
  private final Random random;
  private final Consumer<String> notes;
  private final Totals totals = new Totals();

  /** The misses of each kind since it last met its moment. */
  private final Map<Fault, Integer> misses = new EnumMap<>(Fault.class);

  Campaign(
      Path out,
      RankArguments.Training training,
      List<String> jvm,
      double bar,
      long seed,
      Consumer<String> notes) {
    this.out = out;
    this.training = training;
    this.jvm = jvm;
    this.bar = bar;
    this.random = new Random(seed);
    this.notes = notes;
  }

  /** Does all faults, in a random order, in as many jobs as they need. */
  Totals run(List<Fault> faults) throws IOException, InterruptedException {
    List<Fault> left = new ArrayList<>(faults);
    Collections.shuffle(left, random);
    do {
      job(left);
    } while (!left.isEmpty() && totals.broken.isEmpty());
    return totals;
  }

  private void job(List<Fault> left) throws IOException, InterruptedException {
    totals.jobs++;
    String name = "job " + totals.jobs;
    Path folder = out.resolve("job-" + totals.jobs);
    int port;
    List<RankLog> logs;
    try (Job job = new Job(folder, training, jvm)) {
      port = job.port();
      Injector injector = new Injector(job, random);
      try {
        injector.begin();
        while (!left.isEmpty() && inject(injector, left)) {
          notes.accept(
              "%s: step %d, generation %d, %d faults left"
                  .formatted(name, job.step(), job.generation(), left.size()));
        }
        notes.accept(name + ": trains to its end");
        totals.broken.addAll(injector.end());
      } catch (Job.HungException | IllegalStateException e) {
        totals.broken.add(name + ": " + e.getMessage());
        return;
      } finally {
        totals.processes += job.ranks().size();
      }
      logs = job.ranks().stream().map(RankHandle::log).toList();
    }
    totals.broken.addAll(JobEnd.leftBehind(port));
    try {
      check(name, logs);
    } catch (RuntimeException e) {
      e.printStackTrace();
      totals.broken.add(name + ": the check failed: " + e + causeOf(e));
    }
  }

  private static String causeOf(RuntimeException e) {
    return e.getCause() == null ? "" : ", caused by " + e.getCause();
  }

  /**
   * Does one of the faults that are left, and puts it back if it has missed its moment; returns
   * false if the job is too near to its end.
   */
  private boolean inject(Injector injector, List<Fault> left)
      throws IOException, InterruptedException {
    for (int i = 0; i < left.size(); i++) {
      Fault fault = left.get(i);
      if (injector.hasTimeFor(fault)) {
        injector.pause(left.size());
        if (!injector.hasTimeFor(fault)) {
          continue;
        }
        left.remove(i);
        Optional<Done> done = injector.inject(fault);
        if (done.isPresent()) {
          totals.faults.add(done.get());
          misses.remove(fault);
        } else {
          totals.missed++;
          left.add(fault);
          if (misses.merge(fault, 1, Integer::sum) == TRIES) {
            throw new IllegalStateException(fault + " has missed its moment " + TRIES + " times");
          }
        }
        return true;
      }
    }
    return false;
  }

  private void check(String name, List<RankLog> logs) throws InterruptedException {
    Verdict verdict =
        Verdict.of(logs, training.plan().samples(), training.epochs(), training.everySteps());
    totals.broken.addAll(verdict.faults());
    totals.epochs += training.epochs();
    totals.samples += training.epochs() * training.plan().samples();
    totals.padding += verdict.padding();
    totals.undone += verdict.undone();
    totals.generations += verdict.generations().size();
    totals.steps += verdict.steps();
    totals.compared += verdict.compared();
    if (verdict.faults().isEmpty()) {
      notes.accept(name + ": trains its " + verdict.generations().size() + " generations again");
      Replay.Result result = Replay.of(training, List.copyOf(verdict.generations().values()));
      totals.broken.addAll(result.faults());
      totals.replayed += result.steps();
      totals.accuracies.add(result.accuracy());
      if (!(result.accuracy() >= bar)) {
        totals.broken.add(
            "%s: the accuracy is %.4f, the bar %.4f".formatted(name, result.accuracy(), bar));
      }
    }
  }
}
