// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import io.torchfeed.data.engine.BatchEngine;
import io.torchfeed.data.engine.BatchEngineFactory;
import io.torchfeed.data.task.LoaderMeter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The implementation of {@link io.torchfeed.data.loader.DataLoader}. It does not refer to the
 * loader, so that one that was dropped without being closed can be detected.
 */
public final class LoaderCore {
  private static final EngineLimit LOADERS = EngineLimit.ofLoaders();

  private final AtomicBoolean isCounted = new AtomicBoolean(true);
  private final BatchEngineFactory factory;
  private final PassSource source;
  private final int prefetch;
  private final LoaderMeter meter;
  private final EnginePool<Pass, BatchEngine> engines;

  /** Takes ownership of the factory. */
  public LoaderCore(
      BatchEngineFactory factory, PassSource source, Prefetch ahead, LoaderMeter meter) {
    this.factory = factory;
    this.source = source;
    this.meter = meter;
    BatchEngine engine = firstEngine(factory);
    this.prefetch = ahead.batches(engine.slabBytes());
    EngineLimit limit = EngineLimit.ofPasses((prefetch + 1L) * engine.slabBytes());
    this.engines = new EnginePool<>("DataLoader", factory::start, limit);
    this.engines.keep(engine);
  }

  /** Creates an engine, whose threads start, once dropped loaders were closed if there are many. */
  private static BatchEngine firstEngine(BatchEngineFactory factory) {
    LOADERS.acquire();
    try {
      return factory.start();
    } catch (RuntimeException | Error e) {
      LOADERS.release();
      throw e;
    }
  }

  public PassSource source() {
    return source;
  }

  public int prefetch() {
    return prefetch;
  }

  public LoaderMeter meter() {
    return meter;
  }

  public void requireOpen() {
    engines.requireOpen();
  }

  /** Opens a pass, which takes ownership of its start. */
  public Pass open(PassSource.Start start) {
    BatchEngine engine = null;
    Pass pass;
    try {
      engine = engines.take();
      pass = new Pass(this, engine, start);
    } catch (RuntimeException | Error e) {
      start.close();
      if (engine != null) {
        engines.discard(engine);
      }
      throw e;
    }
    try {
      engines.admit(pass);
      pass.begin();
    } catch (RuntimeException | Error e) {
      pass.close();
      throw e;
    }
    return pass;
  }

  /** Takes back the engine of a pass. */
  void giveBack(BatchEngine engine, long epoch) {
    engines.giveBack(engine, epoch);
  }

  /** Notes that a pass is closed. */
  void forget(Pass pass) {
    engines.forget(pass);
  }

  /** Closes the loader. Idempotent. */
  public void close() {
    List<Pass> passes = engines.beginClosing();
    passes.forEach(Pass::interrupt);
    List<Runnable> steps = new ArrayList<>();
    passes.forEach(pass -> steps.add(pass::close));
    steps.add(engines::close);
    steps.add(factory::close);
    RuntimeException failure = null;
    for (Runnable step : steps) {
      try {
        step.run();
      } catch (RuntimeException e) { // thrown by a sampler's cursor; the other steps still run
        failure = firstOf(failure, e);
      }
    }
    if (isCounted.getAndSet(false)) {
      LOADERS.release();
    }
    if (failure != null) {
      throw failure;
    }
  }

  private static RuntimeException firstOf(@Nullable RuntimeException first, RuntimeException next) {
    if (first == null) {
      return next;
    }
    first.addSuppressed(next);
    return first;
  }
}
