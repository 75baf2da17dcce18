// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.python;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.HeapMemory;
import io.torchfeed.internal.IndexList;
import io.torchfeed.internal.Mt19937;
import io.torchfeed.internal.Randint;
import io.torchfeed.internal.Randperm;
import io.torchfeed.sampler.PlanParameters;
import java.math.BigInteger;
import java.util.function.IntFunction;

/**
 * The random numbers of PyTorch's {@code torch.Generator} on the CPU, bit for bit, with the Python
 * functions that samplers use to draw them.
 *
 * <p>Source: torch 2.10.0, {@code ATen/core/MT19937RNGEngine.h}, {@code DistributionsHelper.h},
 * {@code ATen/native/TensorFactories.cpp}, {@code Distributions.cpp} and {@code
 * cpu/MultinomialKernel.cpp}, in pure Java; golden/python_generator.py. A method named after a
 * PyTorch function returns the same values as that function does with this generator as {@code
 * generator=}, and leaves the generator in the same state, so that a sampler written in Python can
 * be ported line by line:
 *
 * <pre>{@code
 * PythonGenerator generator = PythonGenerator.of(42);    // torch.Generator().manual_seed(42)
 * int[] order = generator.randperm(10);                   // 2 6 1 8 4 5 0 9 3 7
 * long[] crops = generator.randint(0, 32, 10);            // torch.randint(0, 32, (10,), ...)
 * }</pre>
 *
 * <p>This generator is independent of libtorch's. The libtorch of the presets ({@code
 * org.bytedeco:pytorch}) has one process-wide CPU generator; the initialization of layers and
 * {@code torch.rand} draw from it. It has a random seed until {@code
 * org.bytedeco.pytorch.global.torch.manual_seed} is called. It is the counterpart of the generator
 * that Python uses with {@code generator=None}. Its state can be copied, and its {@code set_state}
 * accepts the state of this generator:
 *
 * <pre>{@code
 * byte[] state = new byte[5056];
 * try (PointerScope scope = new PointerScope()) {
 *   new BytePointer(torch.getDefaultCPUGenerator().get_state().data_ptr()).get(state);
 * }
 * PythonGenerator generator = PythonGenerator.fromState(state);
 * }</pre>
 *
 * <p>A plan takes a seed instead. Python's {@code RandomSampler} without a generator draws its seed
 * from the process-wide one; with the presets:
 *
 * <pre>{@code
 * long seed;
 * try (PointerScope scope = new PointerScope()) {
 *   seed = torch.tensor(0L).random_().item_long();
 * }
 * Sampler sampler = PythonRandomSampler.of(50_000, seed);
 * }</pre>
 *
 * <p>This advances the process-wide generator as in Python, and epoch 0 of the plan is the order
 * that Python delivers. The plans themselves never draw from that generator; with a {@link Use}
 * they match, in every epoch, a Python program after {@code torch.manual_seed}.
 *
 * <p>Not thread-safe. The generator takes 3 KB.
 */
public final class PythonGenerator {
  /**
   * The way in which a Python program shares the generator of one of PyTorch's samplers.
   *
   * <p>A sampler that has a generator continues from pass to pass where it stopped, so its orders
   * depend on all other draws from that generator. A {@code DataLoader} does: at the start of each
   * pass, before the sampler draws, it takes a 64-bit seed for its workers from its own generator,
   * even if it has no workers. {@code DataLoader(shuffle=True, generator=g)} also passes {@code g}
   * to its {@code RandomSampler}. Without a generator both draw from the process-wide one; {@code
   * RandomSampler} takes only the seed of a private generator from it for each pass.
   *
   * <p>Each constant corresponds to one way to write the Python program:
   *
   * <pre>{@code
   * // DataLoader(data, shuffle=True, generator=torch.Generator().manual_seed(42))
   * PythonRandomSampler.of(50_000, 42).withGeneratorUse(PythonGenerator.Use.LOADER);
   *
   * // torch.manual_seed(42)
   * // DataLoader(data, shuffle=True)
   * PythonRandomSampler.of(50_000, 42).withGeneratorUse(PythonGenerator.Use.PROCESS_LOADER);
   * }</pre>
   *
   * <p>The orders match a program in which nothing else draws from that generator after it is
   * seeded and every pass runs to its end. They depend neither on the number of workers (apart from
   * {@code persistent_workers}) nor on batches or {@code drop_last}. {@code DistributedSampler}
   * ({@link PythonDistributedSampler}) seeds a generator of its own for each epoch and depends on
   * none of this.
   *
   * <p>Source: torch 2.10.0, {@code torch/utils/data/dataloader.py} and {@code sampler.py};
   * golden/python_loaders.py.
   */
  public enum Use {
    /**
     * The sampler has a generator to itself: {@code RandomSampler(data, generator=g)}, iterated
     * alone or in a {@code DataLoader} that has another generator or none.
     */
    SAMPLER(false, false, false),

    /**
     * The sampler and its loader have the same generator: {@code DataLoader(data, shuffle=True,
     * generator=g)}, with or without workers, or {@code DataLoader(data,
     * sampler=WeightedRandomSampler(..., generator=g), generator=g)}.
     */
    LOADER(false, true, true),

    /**
     * {@link #LOADER} with {@code persistent_workers=True}, which takes one seed for all passes.
     */
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

    Use(boolean processWide, boolean seedAtFirstPass, boolean seedAtLaterPasses) {
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

  private final GeneratorState state;
  private final Mt19937 engine;

  private PythonGenerator(GeneratorState state) {
    this.state = state;
    this.engine = state.engine();
  }

  /**
   * Creates a generator at the start of its stream: {@code torch.Generator().manual_seed(seed)}.
   *
   * @param seed any number; only its low 32 bits determine the stream. Python's seeds from
   *     2<sup>63</sup> to 2<sup>64</sup> - 1 are the negative ones
   * @return the generator
   */
  public static PythonGenerator of(long seed) {
    return new PythonGenerator(GeneratorState.seeded(seed));
  }

  /**
   * Creates a generator that continues where another one stopped: {@code
   * torch.Generator().set_state(state)}.
   *
   * @param state the 5056 bytes of {@link #getState}, or of a CPU generator's {@code get_state()}
   *     on a little-endian machine; copied
   * @return the generator
   * @throws IllegalArgumentException if the bytes are not the state of such a generator
   */
  public static PythonGenerator fromState(byte[] state) {
    requireNonNull(state, "state");
    return new PythonGenerator(GeneratorState.read(state));
  }

  /**
   * Returns the state, byte for byte as {@code get_state()} does on a little-endian machine. A
   * generator created {@link #fromState from it}, here or in PyTorch, continues with the same
   * numbers.
   *
   * @return 5056 bytes; a copy
   */
  public byte[] getState() {
    return state.write();
  }

  /**
   * Returns the seed that the generator started from: {@code initial_seed()}.
   *
   * @return the seed, as a signed number
   */
  public long initialSeed() {
    return state.initialSeed();
  }

  /**
   * Returns a random permutation: {@code torch.randperm(n)}, int64 [n] in PyTorch, {@code int}
   * here.
   *
   * @param n in [0, 2147483639]
   * @return the numbers in [0, n), each once
   * @throws IllegalArgumentException if {@code n} is outside of its range
   * @throws IllegalStateException if the result does not fit the heap
   */
  public int[] randperm(int n) {
    int[] permutation = allocate("randperm", n, Integer.BYTES, int[]::new);
    Randperm.write(engine, n, permutation, 0, n);
    return permutation;
  }

  /**
   * Returns random integers from 0: {@code torch.randint(high, (size,))}, int64 [size].
   *
   * @param high the exclusive upper bound, at least 1
   * @param size number of values, in [0, 2147483639]
   * @return numbers in [0, high)
   * @throws IllegalArgumentException if an argument is outside of its range
   * @throws IllegalStateException if the result does not fit the heap
   */
  public long[] randint(long high, int size) {
    return randint(0, high, size);
  }

  /**
   * Returns random integers: {@code torch.randint(low, high, (size,))}, int64 [size]; also the
   * values that {@code random_(low, high)} writes to a tensor.
   *
   * @param low the smallest value, any number
   * @param high the exclusive upper bound, greater than {@code low}
   * @param size number of values, in [0, 2147483639]
   * @return numbers in [low, high)
   * @throws IllegalArgumentException if an argument is outside of its range
   * @throws IllegalStateException if the result does not fit the heap
   */
  public long[] randint(long low, long high, int size) {
    if (low >= high) {
      throw new IllegalArgumentException(
          "low must be less than high, got low %d and high %d".formatted(low, high));
    }
    return integers("randint", low, high - low, size);
  }

  /**
   * Returns random integers of 63 bits: the values that {@code random_()} writes to an int64 tensor
   * [size]. PyTorch draws its seeds this way; other dtypes draw different numbers.
   *
   * @param size number of values, in [0, 2147483639]
   * @return numbers in [0, 2<sup>63</sup>)
   * @throws IllegalArgumentException if {@code size} is outside of its range
   * @throws IllegalStateException if the result does not fit the heap
   */
  public long[] random(int size) {
    return randomFrom(0, size);
  }

  /**
   * Returns random integers up to the largest one: the values that {@code random_(low, None)}
   * writes to an int64 tensor [size].
   *
   * @param low the smallest value, any number; with {@link Long#MIN_VALUE} all 64 bits are random
   * @param size number of values, in [0, 2147483639]
   * @return numbers in [low, 2<sup>63</sup>)
   * @throws IllegalArgumentException if {@code size} is outside of its range
   * @throws IllegalStateException if the result does not fit the heap
   */
  public long[] randomFrom(long low, int size) {
    // For the full range PyTorch does not add low: the 64 bits are the number.
    long added = low == Long.MIN_VALUE ? 0 : low;
    return integers("random", added, Long.MIN_VALUE - low, size);
  }

  /** Draws numbers from {@code low} on; a range of 0 means 2^64. */
  private long[] integers(String function, long low, long range, int size) {
    long[] numbers = allocate(function, size, Long.BYTES, long[]::new);
    for (int i = 0; i < size; i++) {
      numbers[i] = low + Randint.next(engine, range);
    }
    return numbers;
  }

  /**
   * Returns random fractions: {@code torch.rand(size)}, float32 [size].
   *
   * @param size number of values, in [0, 2147483639]
   * @return multiples of 2<sup>-24</sup> in [0, 1)
   * @throws IllegalArgumentException if {@code size} is outside of its range
   * @throws IllegalStateException if the result does not fit the heap
   */
  public float[] rand(int size) {
    float[] numbers = allocate("rand", size, Float.BYTES, float[]::new);
    for (int i = 0; i < size; i++) {
      numbers[i] = engine.nextFloat();
    }
    return numbers;
  }

  /**
   * Returns random fractions: {@code torch.rand(size, dtype=torch.float64)}, float64 [size].
   *
   * @param size number of values, in [0, 2147483639]
   * @return multiples of 2<sup>-53</sup> in [0, 1)
   * @throws IllegalArgumentException if {@code size} is outside of its range
   * @throws IllegalStateException if the result does not fit the heap
   */
  public double[] randDouble(int size) {
    double[] numbers = allocate("rand", size, Double.BYTES, double[]::new);
    for (int i = 0; i < size; i++) {
      numbers[i] = engine.nextDouble();
    }
    return numbers;
  }

  /**
   * Returns positions drawn in proportion to weights: {@code torch.multinomial(weights, numSamples,
   * replacement)} of float64 weights [m], int64 [numSamples]. (float32 weights draw different
   * positions.)
   *
   * <p>With replacement and more than one draw, the result is PyTorch's bit for bit. Otherwise two
   * positions can change places if their ratios of weight to exponential noise agree except in the
   * last bits, as described in {@link WeightedRandomSampler}; positions of weight 0 come last, in
   * ascending order.
   *
   * @param weights 1 to 2<sup>24</sup> numbers, finite, at least 0, not all 0, and with a finite
   *     sum; they need not sum to 1
   * @param numSamples number of positions, in [1, 2147483639]; without replacement at most m
   * @param replacement whether a position can be drawn more than once
   * @return positions in [0, m)
   * @throws IllegalArgumentException if an argument is outside of its range
   * @throws IllegalStateException if the result does not fit the heap
   */
  public int[] multinomial(double[] weights, int numSamples, boolean replacement) {
    requireNonNull(weights, "weights");
    double[] own = weights.clone();
    Multinomial.requireWeights(own);
    Multinomial.requireSamples(numSamples, own.length, replacement);
    int[] positions = allocate("multinomial", numSamples, Integer.BYTES, int[]::new);
    Multinomial.draw(own, replacement, positions, engine);
    return positions;
  }

  private static <T> T allocate(String function, int size, int bytes, IntFunction<T> array) {
    if (size < 0 || size > IndexList.MAX_SIZE) {
      throw new IllegalArgumentException(
          "the size of %s must be in [0, %d], got %d"
              .formatted(function, IndexList.MAX_SIZE, size));
    }
    return HeapMemory.array(() -> "the result of " + function, size, bytes, array);
  }

  /** Returns a text that identifies the generator by its seed. */
  @Override
  public String toString() {
    return "PythonGenerator[initialSeed=%d]".formatted(initialSeed());
  }
}
