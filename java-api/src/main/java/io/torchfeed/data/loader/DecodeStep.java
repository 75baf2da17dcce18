// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.DeviceLane;
import io.torchfeed.data.VariableLength;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.jspecify.annotations.Nullable;

/**
 * The step that decodes the encoded images of a batch: by the consumer, or ahead of it by the
 * workers of a loader that delivers on the device of the decoder.
 *
 * @param column the number of the column of encoded files
 * @param offsets the number of the column of its offsets
 * @param device the device of the decoder
 * @param next the step after this one; null for none
 */
record DecodeStep(
    int column, int offsets, PackedFiles.Decoder decoder, String device, Batch.@Nullable Step next)
    implements Batch.Step {
  @Override
  public Tensor[] apply(Batch batch, long seed) throws Exception {
    List<byte[]> files = PackedFiles.of(batch.tensor(column), batch.tensor(offsets));
    Tensor images = decoder.decode(files, seed, batch.epoch(), batch.indices());
    Tensor[] decoded = batch.replacing(column, images);
    return next == null ? decoded : next.apply(batch.lending(decoded), seed);
  }

  @Override
  public Batch.Step andThen(Batch.Step other) {
    requireNonNull(other, "next");
    return new DecodeStep(
        column, offsets, decoder, device, next == null ? other : next.andThen(other));
  }

  /**
   * Lets the workers of a loader decode ahead.
   *
   * @param options of a loader on a device; this adds the work of its workers
   * @return the step that is left to the consumer
   * @throws IllegalArgumentException if the device or a column is another one
   */
  Batch.Step ahead(LoaderOptions options) {
    if (!device.equals(options.device)) {
      throw new IllegalArgumentException(
          "a decoder on %s decodes batches for that device, got device %s"
              .formatted(device, options.device));
    }
    if (options.transform == null) { // which may change the columns
      requireColumns(options.data);
    }
    options.work = new AheadOnDevice(device, column, offsets, decoder);
    return received();
  }

  private void requireColumns(LoaderData data) {
    List<Integer> packed = new ArrayList<>();
    int place = data.columns().size();
    for (VariableLength length : data.variableLengths()) {
      if (length.form() == VariableLength.Form.OFFSETS) {
        packed.add(length.column());
      }
      if (length.column() == column && offsets != place) {
        throw new IllegalArgumentException(
            "the offsets of column %d are column %d, got %d".formatted(column, place, offsets));
      }
      place++;
    }
    if (!packed.contains(column)) {
      throw new IllegalArgumentException(
          "column %d must be VariableLength.packed to be decoded, but only these are: %s"
              .formatted(column, packed));
    }
  }

  /** Notes that the memory of a batch is used in the consumer's stream, and does the next step. */
  private Batch.Step received() {
    Batch.Step receive =
        (batch, seed) -> {
          Tensor[] decoded = batch.tensors();
          try (TensorVector all = new TensorVector(decoded)) {
            DeviceLane.share(all);
          }
          return decoded;
        };
    return next == null ? receive : receive.andThen(next);
  }
}
