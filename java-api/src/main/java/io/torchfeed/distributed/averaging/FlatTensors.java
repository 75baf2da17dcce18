// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.averaging;

import io.torchfeed.bindings.NativeBytes;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * A copy of several tensors in one block of memory, so that one message holds them all. Not
 * thread-safe.
 */
public final class FlatTensors implements AutoCloseable {
  private final Tensor[] sources;
  private final Tensor flat;
  private final Tensor[] views;

  /**
   * Creates a copy of tensors of one dtype.
   *
   * @param sources at least one; owned by the caller, and must outlive this object
   */
  public FlatTensors(Tensor[] sources) {
    this.sources = sources;
    try (PointerScope scope = new PointerScope()) {
      long elements = Arrays.stream(sources).mapToLong(Tensor::numel).sum();
      flat = torch.empty(new long[] {elements}, sources[0].options(), null).retainReference();
      views = new Tensor[sources.length];
      long first = 0;
      for (int i = 0; i < views.length; i++) {
        views[i] =
            flat.narrow(0, first, sources[i].numel())
                .view(sources[i].sizes().vec().get())
                .retainReference();
        first += sources[i].numel();
      }
    }
    load();
  }

  /** Returns all values, one tensor after the other: [elements]. */
  public Tensor values() {
    return flat;
  }

  /** Copies the tensors into this object. */
  public void load() {
    try (PointerScope scope = new PointerScope()) {
      for (int i = 0; i < views.length; i++) {
        views[i].copy_(sources[i]);
      }
    }
  }

  /** Copies this object into the tensors. */
  public void store() {
    try (PointerScope scope = new PointerScope()) {
      for (int i = 0; i < views.length; i++) {
        sources[i].copy_(views[i]);
      }
    }
  }

  /** Adds the values of this object to the tensors. */
  public void addToSources() {
    try (PointerScope scope = new PointerScope()) {
      for (int i = 0; i < views.length; i++) {
        sources[i].add_(views[i]);
      }
    }
  }

  /** Returns the SHA-256 of the values. */
  public byte[] digest() {
    try (PointerScope scope = new PointerScope()) {
      MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
      NativeBytes.forEach(flat.data_ptr(), flat.nbytes(), sha256::update);
      return sha256.digest();
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e); // every JDK has it
    }
  }

  @Override
  public void close() {
    for (Tensor view : views) {
      view.close();
    }
    flat.close();
  }
}
