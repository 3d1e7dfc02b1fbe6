#pragma once
#include <stdlib.h>
#include <stringprep.h>
