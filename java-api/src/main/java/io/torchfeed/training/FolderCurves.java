// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import io.torchfeed.checkpoint.Checkpoint.Metric;
import io.torchfeed.summary.SummaryWriter;
import io.torchfeed.summary.SummaryWriter.FolderInUseException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** The curves of a run in a folder, whose writer this rank opens when it knows its first step. */
final class FolderCurves implements LoopMonitor {
  private static final Logger LOGGER = System.getLogger("io.torchfeed.training");
  private static final long NONE = -1;

  private final Path folder;
  private final long everySteps;
  private final RateMeter meter = new RateMeter();
  private @Nullable SummaryWriter writer;
  private @Nullable LoopCurves curves;
  private @Nullable Step own;
  private String loader = "";
  private long first = NONE;
  private long last = NONE;

  FolderCurves(Path folder, long everySteps) {
    this.folder = folder;
    this.everySteps = LoopCurves.requireAtLeastOne(everySteps);
  }

  @Override
  public void stepDone(StepFigures figures) {
    LoopCurves open = at(figures.step(), figures.step().number() + 1);
    if (open != null) {
      open.stepDone(figures);
      if (last % everySteps == 0) {
        loader = figures.loaderStats().toString();
      }
    }
  }

  @Override
  public void evaluated(Step step, Metric metric) {
    LoopCurves open = at(step, step.number());
    if (open != null) {
      open.evaluated(step, metric);
    }
  }

  /** Returns the curves at a number of completed steps; null if another process has them open. */
  private @Nullable LoopCurves at(Step step, long completed) {
    if (completed < last) {
      leave(); // the state of all ranks has gone back
    }
    last = completed;
    first = first == NONE ? completed : first;
    if (curves == null) {
      open(step);
    }
    return curves;
  }

  private Path folderOf(Step step) {
    return step.rank() == 0 ? folder : folder.resolve("rank-" + step.rank());
  }

  private void open(Step step) {
    try {
      SummaryWriter opened = SummaryWriter.resume(folderOf(step), first);
      writer = opened;
      own = step;
      curves = new LoopCurves(opened, everySteps, meter);
      if (step.rank() == 0) {
        opened.scalar("train/ranks", step.worldSize(), first);
      }
      RunNote.begin(folderOf(step), step, first - 1);
    } catch (FolderInUseException e) {
      LOGGER.log(Level.WARNING, "points of curves are left out, since {0}", e.getMessage());
    } catch (IOException e) {
      throw new UncheckedIOException("cannot write the curves of the run", e);
    }
  }

  @Override
  public void leave() {
    SummaryWriter closed = writer;
    Step step = own;
    long completed = last;
    writer = null;
    curves = null;
    own = null;
    first = NONE;
    last = NONE;
    if (closed == null || step == null) {
      return;
    }
    try (closed) {
      RunNote.end(folderOf(step), step, completed, loader);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot write the curves of the run", e);
    }
  }
}
