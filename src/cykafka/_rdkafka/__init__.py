"""The compiled core: one extension module, `cykafka._rdkafka.core`, made of the parts in this directory."""
