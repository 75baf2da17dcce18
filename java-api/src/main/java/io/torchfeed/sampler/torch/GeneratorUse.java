// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Mt19937;
import io.torchfeed.sampler.PlanParameters;
import java.math.BigInteger;

/**
 * The way in which a Python program shares the generator of one of PyTorch's samplers.
 *
 * <p>A sampler that has a generator continues from pass to pass where it stopped, so its orders
 * depend on what else draws from that generator. A {@code DataLoader} does: at the start of each
 * pass, before the sampler draws, it takes a 64-bit seed for its workers from its own generator,
 * even if it has no workers. {@code DataLoader(shuffle=True, generator=g)} also passes {@code g} to
 * its {@code RandomSampler}. Without a generator both draw from the process-wide one, from which
 * {@code RandomSampler} takes only the seed of a private generator for each pass.
 *
 * <p>Each constant corresponds to one way to write the Python program:
 *
 * <pre>{@code
 * // DataLoader(data, shuffle=True, generator=torch.Generator().manual_seed(42))
 * new PythonRandomSampler(50_000, 42).withGeneratorUse(GeneratorUse.LOADER);
 *
 * // torch.manual_seed(42)
 * // DataLoader(data, shuffle=True)
 * new PythonRandomSampler(50_000, 42).withGeneratorUse(GeneratorUse.PROCESS_LOADER);
 * }</pre>
 *
 * <p>The orders are those of a program in which nothing else draws from that generator after it is
 * seeded and every pass runs to its end. They depend neither on the number of workers (apart from
 * {@code persistent_workers}) nor on batches or {@code drop_last}. {@code DistributedSampler}
 * ({@link PythonDistributedSampler}) seeds a generator of its own for each epoch and depends on
 * none of this.
 *
 * <p>Source: torch 2.10.0, {@code torch/utils/data/dataloader.py} and {@code sampler.py};
 * golden/python_loaders.py.
 */
public enum GeneratorUse {
  /**
   * The sampler has a generator to itself: {@code RandomSampler(data, generator=g)}, iterated alone
   * or in a {@code DataLoader} that has another generator or none.
   */
  SAMPLER(false, false, false),

  /**
   * The sampler and its loader have the same generator: {@code DataLoader(data, shuffle=True,
   * generator=g)}, with or without workers, or {@code DataLoader(data,
   * sampler=WeightedRandomSampler(..., generator=g), generator=g)}.
   */
  LOADER(false, true, true),

  /** {@link #LOADER} with {@code persistent_workers=True}, which takes one seed for all passes. */
  PERSISTENT_LOADER(false, true, false),

  /**
   * The sampler has no generator: {@code torch.manual_seed(seed)}, then {@code
   * RandomSampler(data)}, iterated alone or in a {@code DataLoader} that has a generator.
   */
  PROCESS_SAMPLER(true, false, false),

  /**
   * Neither the sampler nor its loader has a generator: {@code torch.manual_seed(seed)}, then
   * {@code DataLoader(data, shuffle=True)}, with or without workers.
   */
  PROCESS_LOADER(true, true, true),

  /** {@link #PROCESS_LOADER} with {@code persistent_workers=True}. */
  PROCESS_PERSISTENT_LOADER(true, true, false);

  /** The number of 32-bit outputs that a seed consumes. */
  private static final int SEED_OUTPUTS = 2;

  private final boolean processWide;
  private final int outputsBeforeTheFirstPass;
  private final int outputsBetweenPasses;

  GeneratorUse(boolean processWide, boolean seedAtFirstPass, boolean seedAtLaterPasses) {
    this.processWide = processWide;
    this.outputsBeforeTheFirstPass = seedAtFirstPass ? SEED_OUTPUTS : 0;
    this.outputsBetweenPasses = seedAtLaterPasses ? SEED_OUTPUTS : 0;
  }

  /**
   * Returns the generator at the start of a pass over a sampler that draws its order from its own
   * generator or, if it has none, from the process-wide one.
   */
  Mt19937 generator(long seed, long epoch, long outputsOfAPass) {
    Checks.requireEpoch(epoch);
    Mt19937 generator = new Mt19937(seed);
    generator.skip(
        BigInteger.valueOf(outputsOfAPass + outputsBetweenPasses)
            .multiply(BigInteger.valueOf(epoch))
            .add(BigInteger.valueOf(outputsBeforeTheFirstPass)));
    return generator;
  }

  /**
   * Returns the same for {@code RandomSampler}, which draws from the process-wide generator only
   * the seed of a new one, not the order.
   */
  Mt19937 generatorOfRandomSampler(long seed, long epoch, long outputsOfAPass) {
    return processWide
        ? new Mt19937(generator(seed, epoch, SEED_OUTPUTS).nextLong())
        : generator(seed, epoch, outputsOfAPass);
  }

  /**
   * Returns the parameters of a plan with this use. {@link #SAMPLER} adds none, since plans saved
   * before there was a choice have none.
   */
  PlanParameters addedTo(PlanParameters parameters) {
    return this == SAMPLER ? parameters : parameters.with("generatorUse", this);
  }
}
