"""Errors of the Spark data source; their texts name the option or column, as Spark's own do."""


class OptionError(ValueError):
    """An option of the source or sink is missing, malformed, contradicts another one, or is not supported.

    Args:
        option: Name of the option as the user writes it.
        problem: What is wrong with it and what to do.
    """

    def __init__(self, option: str, problem: str) -> None:
        super().__init__(option, problem)
        self.option = option
        self.problem = problem

    def __str__(self) -> str:
        return f"[KAFKA_OPTION.{_condition(self.option)}] Option '{self.option}': {self.problem}"


class SchemaError(ValueError):
    """A column is missing, has a wrong type, or does not belong to the schema.

    Args:
        column: Name of the column.
        problem: What is wrong with it and what to do.
    """

    def __init__(self, column: str, problem: str) -> None:
        super().__init__(column, problem)
        self.column = column
        self.problem = problem

    def __str__(self) -> str:
        return f"[KAFKA_SCHEMA] Column '{self.column}': {self.problem}"


class DataLossError(RuntimeError):
    """Data that a query was to read is gone; raised while ``failOnDataLoss`` is true.

    Args:
        condition: Sub-class of the error, such as ``PARTITIONS_DELETED``.
        problem: What was found.
    """

    def __init__(self, condition: str, problem: str) -> None:
        super().__init__(condition, problem)
        self.condition = condition
        self.problem = problem

    def __str__(self) -> str:
        return (
            f"[KAFKA_DATA_LOSS.{self.condition}] {self.problem} Some data may have been lost because it is "
            "not "
            "available in Kafka any more: it was aged out, or the topic was deleted before all of it was "
            "processed. "
            "To have the query go on in such cases, set the option failOnDataLoss to false."
        )


class CorruptRecordError(ValueError):
    """A key or value does not decode and ``mode`` is FAILFAST."""


class FetchError(RuntimeError):
    """Kafka did not hand over offsets or records in time."""


class ExactlyOnceError(RuntimeError):
    """The sink cannot write a batch exactly once; nothing of the task was committed."""


def _condition(option: str) -> str:
    words = "".join(f"_{letter}" if letter.isupper() else letter for letter in option)
    return words.replace(".", "_").replace("-", "_").upper()
