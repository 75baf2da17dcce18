// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.python;

import io.torchfeed.internal.Mt19937;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The state of a CPU generator, and its bytes as {@code get_state()} returns them on a
 * little-endian machine.
 *
 * <p>Source: torch 2.10.0, {@code CPUGeneratorImplState} in {@code ATen/CPUGeneratorImpl.cpp}.
 */
final class GeneratorState {
  private static final int BYTES = 5056;

  /** The length of the end of a state: normally distributed numbers, which are never drawn here. */
  private static final int NORMAL_BYTES = 40;

  private final long initialSeed;
  private final Mt19937 engine;
  private final byte[] normals;

  private GeneratorState(long initialSeed, Mt19937 engine, byte[] normals) {
    this.initialSeed = initialSeed;
    this.engine = engine;
    this.normals = normals;
  }

  static GeneratorState seeded(long seed) {
    return new GeneratorState(seed, new Mt19937(seed), new byte[NORMAL_BYTES]);
  }

  /**
   * Reads a state, without keeping the array.
   *
   * @throws IllegalArgumentException if the bytes are not the state of such a generator
   */
  static GeneratorState read(byte[] state) {
    if (state.length != BYTES) {
      throw new IllegalArgumentException(
          "state must be the %d bytes of a CPU generator's get_state(), got %d"
              .formatted(BYTES, state.length));
    }
    ByteBuffer bytes = ByteBuffer.wrap(state).order(ByteOrder.LITTLE_ENDIAN);
    long seed = bytes.getLong();
    Mt19937 engine = Mt19937.read(bytes);
    byte[] normals = new byte[NORMAL_BYTES];
    bytes.get(normals);
    return new GeneratorState(seed, engine, normals);
  }

  byte[] write() {
    ByteBuffer bytes = ByteBuffer.allocate(BYTES).order(ByteOrder.LITTLE_ENDIAN);
    bytes.putLong(initialSeed);
    engine.write(bytes);
    return bytes.put(normals).array();
  }

  long initialSeed() {
    return initialSeed;
  }

  /** Returns the engine, which advances with each number drawn. */
  Mt19937 engine() {
    return engine;
  }
}
