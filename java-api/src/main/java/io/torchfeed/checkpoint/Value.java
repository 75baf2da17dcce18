// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.checkpoint.StateDict.Checked;
import io.torchfeed.internal.JsonObject;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * A text or a number of the user, as the state of an object. Whether the user takes it, only the
 * load tells.
 */
final class Value {
  private static final String FIELD = "value";

  private static final int LAST = 3; // since the code of the user may throw

  private Value() {}

  /** A text. */
  record Text(String name, Supplier<String> save, Consumer<String> load) implements Checked {
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
    public void check(StateDict state) {
      value(state);
    }

    @Override
    public void loadStateDict(StateDict state) {
      load.accept(value(state));
    }

    @Override
    public int turn() {
      return LAST;
    }

    private static String value(StateDict state) {
      return Value.of("text", state, json -> json.text(FIELD));
    }
  }

  /** A whole number. */
  record WholeNumber(LongSupplier save, LongConsumer load) implements Checked {
    @Override
    public StateDict stateDict() {
      return StateDict.of("{\"%s\":%s}".formatted(FIELD, save.getAsLong()), Map.of());
    }

    @Override
    public void check(StateDict state) {
      value(state);
    }

    @Override
    public void loadStateDict(StateDict state) {
      load.accept(value(state));
    }

    @Override
    public int turn() {
      return LAST;
    }

    private static long value(StateDict state) {
      return Value.of("number", state, json -> json.number(FIELD));
    }
  }

  private static <T> T of(String what, StateDict state, Function<JsonObject, T> value) {
    try {
      state.requireFit(Map.of());
      return value.apply(JsonObject.parse(what, state.json()).only(FIELD));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          ("this program has a %s of this name, the checkpoint has something else: %s; use the"
                  + " name of the saved part")
              .formatted(what, e.getMessage()),
          e);
    }
  }
}
