// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.checkpoint.Checkpoint.Metric;
import io.torchfeed.internal.JsonObject;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** Tensors of a state at one moment. */
sealed interface StateCopy extends AutoCloseable {
  @Override
  void close();

  /**
   * The states of all parts at one moment.
   *
   * @param parts by name
   * @param metric of the state; null if it has none
   */
  record Copy(Map<String, StateDict> parts, @Nullable Metric metric) implements StateCopy {
    Copy(@Nullable Metric metric) {
      this(new LinkedHashMap<>(), metric);
    }

    /** Returns all states as one, which has the tensors. */
    StateDict joined() {
      Map<String, Tensor> tensors = new LinkedHashMap<>();
      StringWriter json = new StringWriter();
      try (JsonGenerator out = JsonObject.FACTORY.createGenerator(json)) {
        out.writeStartObject();
        for (Map.Entry<String, StateDict> part : parts.entrySet()) {
          out.writeStringField(part.getKey(), part.getValue().json());
          part.getValue()
              .tensors()
              .forEach(
                  (name, tensor) ->
                      tensors.put(part.getKey() + TrainingState.SEPARATOR + name, tensor));
        }
        out.writeEndObject();
      } catch (IOException e) {
        close();
        throw new UncheckedIOException(e); // a string takes anything
      }
      return StateDict.owning(json.toString(), tensors);
    }

    @Override
    public void close() {
      parts.values().forEach(StateDict::close);
    }
  }

  /**
   * The share of a rank in the states of all parts at one moment.
   *
   * @param fileNames the files of the parts
   * @param layout of all states
   */
  record Share(Copy copy, Map<String, String> fileNames, ShardLayout layout) implements StateCopy {
    @Override
    public void close() {
      copy.close();
    }
  }
}
