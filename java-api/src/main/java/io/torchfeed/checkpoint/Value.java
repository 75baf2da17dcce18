// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.internal.JsonObject;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** A text or a number of the user, as the state of an object. */
final class Value {
  private static final String FIELD = "value";

  private Value() {}

  /** A text. */
  record Text(String name, Supplier<String> save, Consumer<String> load) implements Stateful {
    @Override
    public StateDict stateDict() {
      String text = requireNonNull(save.get(), () -> "the text to save as " + name);
      StringWriter json = new StringWriter();
      try (JsonGenerator out = JsonObject.FACTORY.createGenerator(json)) {
        out.writeStartObject();
        out.writeStringField(FIELD, text);
        out.writeEndObject();
      } catch (IOException e) {
        throw new UncheckedIOException(e); // a string takes anything
      }
      return StateDict.of(json.toString(), Map.of());
    }

    @Override
    public void loadStateDict(StateDict state) {
      state.requireFit(Map.of());
      load.accept(JsonObject.parse("text", state.json()).only(FIELD).text(FIELD));
    }
  }

  /** A whole number. */
  record WholeNumber(LongSupplier save, LongConsumer load) implements Stateful {
    @Override
    public StateDict stateDict() {
      return StateDict.of("{\"%s\":%s}".formatted(FIELD, save.getAsLong()), Map.of());
    }

    @Override
    public void loadStateDict(StateDict state) {
      state.requireFit(Map.of());
      load.accept(JsonObject.parse("number", state.json()).only(FIELD).number(FIELD));
    }
  }
}
